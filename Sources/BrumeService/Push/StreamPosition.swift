package import BrumeModel

/// How far a device's stream has come in each source of its events.
package struct StreamPosition: Equatable, Sendable {
    /// Where events come from. Raw values stand in sealed positions.
    package enum Source: UInt8, CaseIterable, Sendable {
        /// The private database of the device's user.
        case privateDatabase = 1
        /// The container's public database.
        case publicDatabase = 2
        /// The zones of others in which the user takes part. Its places are the numbers of ``ZoneTouches``.
        case sharedDatabase = 3
    }

    /// A place in one source's events.
    package struct Place: Equatable, Sendable {
        /// The run that wrote the commit there.
        package var run: UInt32
        package var position: ChangePosition

        package init(run: UInt32, position: ChangePosition) {
            self.run = run
            self.position = position
        }
    }

    // Not an array: a position is made for every event.
    private var privatePlace: Place?
    private var publicPlace: Place?
    private var sharedPlace: Place?

    /// A position that says nothing of any source.
    package init() {}

    /// The place in a source; nil where the position says nothing of it.
    package subscript(source: Source) -> Place? {
        get {
            switch source {
            case .privateDatabase: privatePlace
            case .publicDatabase: publicPlace
            case .sharedDatabase: sharedPlace
            }
        }
        set {
            switch source {
            case .privateDatabase: privatePlace = newValue
            case .publicDatabase: publicPlace = newValue
            case .sharedDatabase: sharedPlace = newValue
            }
        }
    }

    /// The same position, which says nothing of a source.
    func without(_ source: Source) -> StreamPosition {
        var rest = self
        rest[source] = nil
        return rest
    }
}
