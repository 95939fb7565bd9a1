#include <cmocka.h>
int main(void)
{
    return 0;
}
