extension String {
    /// A name as a sentence shows it: in quotation marks, so that an empty one is seen, and its beginning alone where
    /// it is longer than any name may be.
    var quotedName: String { utf8.count > 255 ? "\"\(prefix(40))…\"" : "\"\(self)\"" }
}
