internal import BrumeModel

/// What a server says that the next entry of a ring has to take into account. Dropping follows its word; taking in
/// needs a proof.
struct RingNews: Sendable {
    /// The users who wait to be taken in.
    var guests: [RingGuest] = []
    /// Members who take part no more in what the ring is of.
    var departed: [String] = []
    /// Members who have other keys now than the last entry names.
    var renewed: [String] = []

    init() {}

    init(_ page: RingPage) {
        (guests, departed, renewed) = (page.guests, page.departed, page.renewed)
    }
}
