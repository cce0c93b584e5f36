//! Tools of several servers, and of the program itself, for one model.
