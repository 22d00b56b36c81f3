public import Foundation

/// A note as its user sees it.
public struct Note: Equatable, Sendable {
    /// Also the name of its record.
    public let id: String
    /// One line.
    public var title: String
    /// What it says.
    public var text: String
    /// The file of its picture, in the program's folder; nil: it has none.
    public var picture: URL?
    /// When a user changed it last, on the device where that was.
    public var edited: Date

    /// A note with these values.
    public init(
        id: String = UUID().uuidString, title: String, text: String, picture: URL? = nil, edited: Date = Date()
    ) {
        self.id = id
        self.title = title
        self.text = text
        self.picture = picture
        self.edited = edited
    }
}

extension Note {
    /// This version and another device's, which both began with `base`: what only one of them changed is taken over,
    /// and where both did, title and picture are those of the later edit and the text holds both, so that nothing that
    /// was written is lost.
    ///
    /// - Parameter base: Nil: nobody knows what they began with.
    func merged(with other: Note, base: Note?) -> Note {
        var merged = edited >= other.edited ? self : other
        if let base, title == base.title { merged.title = other.title }
        if let base, other.title == base.title { merged.title = title }
        if let base, picture == base.picture { merged.picture = other.picture }
        if let base, other.picture == base.picture { merged.picture = picture }
        if text == other.text || text == base?.text {
            merged.text = other.text
        } else if other.text == base?.text {
            merged.text = text
        } else {
            merged.text = other.text + "\n\nAlso written at the same time:\n" + text
        }
        merged.edited = max(edited, other.edited)
        return merged
    }
}
