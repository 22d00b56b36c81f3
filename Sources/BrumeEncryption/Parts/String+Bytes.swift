extension String {
    /// Whether two names have the same bytes. Swift takes others for equal, too, that look alike, and a server could
    /// pass one off for the other.
    package func hasBytes(of other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
