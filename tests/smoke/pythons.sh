# Sourced by run.sh and scripts/wheels.sh.

find_python() {  # the path of Python $1 (3.13, ...), or nothing
  local IFS=: folder
  for folder in $PATH ${SMOKE_PYTHONS:-} "$HOME"/.pyenv/versions/"$1"*/bin; do
    if "$folder/python$1" -c 'import ensurepip, venv' 2>/dev/null; then  # a pyenv shim may not run
      echo "$folder/python$1"
      return
    fi
  done
}
