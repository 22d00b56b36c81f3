/// What the save of a share says beside the fields of its record.
package struct ShareSave: Equatable, Sendable {
    /// The name of the record that a new share shares, with all records whose parents lead there; empty for the share
    /// of a whole zone. A share keeps its root: for one that there is, empty or that root's name.
    package var root: String
    package var edit: ShareEdit

    package init(root: String = "", edit: ShareEdit = ShareEdit()) {
        self.root = root
        self.edit = edit
    }
}
