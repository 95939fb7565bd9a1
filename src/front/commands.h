/* The commands of the command line, and what is said where none is meant. */
#ifndef SANDGATE_FRONT_COMMANDS_H
#define SANDGATE_FRONT_COMMANDS_H

/* The words behind the program's name. Returns the exit status, front_end has not been asked yet. */
int commands_run(int argc, char *const *argv);

#endif
