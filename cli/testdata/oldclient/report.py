import sys

print("report:", *sys.argv[1:], flush=True)
if "fails" in sys.argv:
    sys.exit("as it was to")
