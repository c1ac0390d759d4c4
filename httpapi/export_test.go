package httpapi

// Routes lists what is registered for the options: the methods of each path.
func Routes(options Options) map[string][]string { return newAPI(options).routes.methods }
