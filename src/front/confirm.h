/* A yes or no from whoever sits at the terminal of this process. */
#ifndef SANDGATE_FRONT_CONFIRM_H
#define SANDGATE_FRONT_CONFIRM_H

/* 1: yes, 0: no, -1: there is no terminal. Asks until one of them is typed. */
int confirm(const char *question);

#endif
