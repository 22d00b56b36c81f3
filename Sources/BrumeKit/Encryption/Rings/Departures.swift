/// The members who lose a ring's keys by what an app changes or deletes, and the links that end.
struct Departures: Sendable {
    /// Those who stay, by their user record names; the owner does in any case. Whoever else is a member goes, whatever
    /// the server has said of them.
    var staying: Set<String> = []
    /// Those who go, whoever else the server gives the same name; of a ring that is not known they alone.
    var named: Set<String> = []
    /// The ids of links for one guest that end.
    var endedLinks: Set<[UInt8]> = []
    /// Whether a link that opens the keys by itself ends.
    var closesLink = false
    /// Whether they are kept in mind also of a ring that this device does not know yet.
    var areOfUnknownRings = false

    /// Everybody but the owner, of a ring that is known.
    static let all = Departures(closesLink: true)
}
