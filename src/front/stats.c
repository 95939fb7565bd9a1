#include "front/front.h"
int front_stats(int argc, char *const *argv)
{
    (void)argc;
    (void)argv;
    return 0;
}
