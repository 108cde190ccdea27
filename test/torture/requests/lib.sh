# What the jobs of the torture test do. Each leaves lines in a file, outside
# Treadle, every line in one write to the end:
#
#   WHAT NANOSECONDS REQUEST JOB TRY EPOCH PID RUNNER TEXT
#
# WHAT is B (begins), E (ends, the exit code is the text), T (was told to stop) or
# D (did not get the data of an earlier job).

say() {
	# The time is read also while the job is told to stop.
	printf '%s %s %s %s %s %s %s %s %s\n' "$1" "$(trap '' TERM; date +%s%N)" "$TREADLE_REQUEST_ID" "$TREADLE_JOB_ID" \
		"$TREADLE_TRY" "$TREADLE_EPOCH" "$$" "$FAULTS_RUNNER" "${2:--}" >>"$FAULTS_DIR/trace"
}

# begin takes a lock that all processes of the job hold until the last of them is
# gone. Who finds it taken runs beside another try.
begin() {
	lock="$FAULTS_DIR/locks/$TREADLE_REQUEST_ID.$TREADLE_JOB_ID"
	exec 8>>"$lock"
	if flock -n 8; then
		say B
	else
		say B "beside:$(tail -n 1 "$lock" | tr ' ' '/')"
	fi
	echo "try $TREADLE_TRY epoch $TREADLE_EPOCH pid $$ runner $FAULTS_RUNNER" >&8
}

work() { sleep "$work"; }

# give sets job data, has looks for it.
give() { echo "token=$TREADLE_REQUEST_ID" >>"$TREADLE_OUTPUT"; }
has() { [ "$token" = "$TREADLE_REQUEST_ID" ] || say D "token:$token"; }

# end is the last that a job does.
end() {
	say E "$1"
	exit "$1"
}
