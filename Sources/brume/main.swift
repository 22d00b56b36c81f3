print("brume")
