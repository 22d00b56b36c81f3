/// The members who lose a ring's keys by what an app changes or deletes.
struct Departures: Sendable {
    /// Those who stay, by their user record names; the owner does in any case. Whoever else is a member goes, whatever
    /// the server has said of them.
    var staying: Set<String> = []
    /// Those who go where it is not known who is a member.
    var named: Set<String> = []

    /// Everybody but the owner.
    static let all = Departures()
}
