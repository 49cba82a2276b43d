"""Records of exams and calibrations of judges."""
