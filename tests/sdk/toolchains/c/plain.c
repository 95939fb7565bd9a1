#include <math.h>
#include <pthread.h>
#include <stdio.h>

static void *double_it(void *at)
{
    *(double *)at *= 2;
    return NULL;
}

int main(void)
{
    double number = sqrt(441);
    pthread_t thread;
    if (pthread_create(&thread, NULL, double_it, &number) || pthread_join(thread, NULL))
        return 1;
    printf("C says %.0f\n", number);
    return 0;
}
