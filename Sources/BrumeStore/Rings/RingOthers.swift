package import BrumeModel

/// What one commit changes beside the rings of a zone, of users who do not own it.
package struct RingOthers: Equatable, Sendable {
    package struct Statement: Equatable, Sendable {
        package let user: String
        /// Which of the user's chains it is of, from 1.
        package let chain: UInt32
        package let bytes: SharedBytes

        package init(user: String, chain: UInt32, bytes: SharedBytes) {
            self.user = user
            self.chain = chain
            self.bytes = bytes
        }
    }

    /// New ones, each user's in their order.
    package var statements: [Statement] = []
    /// Earlier chains that are those of users' keys again.
    package var selected: [(user: String, chain: UInt32)] = []
    /// The user who asks to be taken into the ring.
    package var guest: RingGuest?
    /// The users who ask no more.
    package var guestsGone: [String] = []
    /// The users whom the entry names that all of it comes with: what is kept of them is needed as long as the entry.
    package var named: [String] = []
    /// Users whom no entry names, and who take no part any more: their statements make room.
    var usersGone: [String] = []

    package init() {}

    package var isEmpty: Bool { statements.isEmpty && selected.isEmpty && guest == nil && guestsGone.isEmpty }

    package static func == (left: RingOthers, right: RingOthers) -> Bool {
        left.statements == right.statements && left.guest == right.guest && left.guestsGone == right.guestsGone
            && left.named == right.named && left.usersGone == right.usersGone
            && left.selected.elementsEqual(right.selected) { $0 == $1 }
    }
}
