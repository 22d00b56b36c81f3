internal import BrumeModel

/// All subscriptions of a database: by owner and id, in places that stay, with what each owner has used of their
/// limits.
///
/// In a private database there is one owner, whose name is left out; in the public one every user has their own.
struct SubscriptionTable {
    private struct Key: Hashable {
        let owner: String
        let id: String
    }

    /// What one owner has.
    private struct Share {
        /// In the order of their first save.
        var slots: [Int32] = []
        var textBytes = 0
        var predicateBytes = 0
    }

    private var slots: [KeptSubscription?] = []
    private var freeSlots: [Int32] = []
    private var slotOfKey: [Key: Int32] = [:]
    private var shares: [String: Share] = [:]
    private var bytes = 0
    /// Zone and database subscriptions: looked at for every commit. Only private databases have them.
    ///
    /// In the order of their first save.
    private(set) var hints: [KeptSubscription] = []
    /// The places of those that are about one zone and are deleted with it, by its name.
    private var slotsOfZone: [String: Set<Int32>] = [:]
    private(set) var approximateBytes = 0
    private(set) var index = SubscriptionIndex()

    var count: Int { slotOfKey.count }
    var isEmpty: Bool { slotOfKey.isEmpty }

    /// All of them: those of a private database in the order of their first save.
    var all: [KeptSubscription] {
        if shares.count == 1, let share = shares.first?.value { return share.slots.map { slots[Int($0)]! } }
        return slots.compactMap { $0 }
    }

    /// An owner's subscriptions, in the order of their first save.
    func subscriptions(of owner: String) -> [KeptSubscription] {
        (shares[owner]?.slots ?? []).map { slots[Int($0)]! }
    }

    /// The subscriptions that are about the zone and no other, in the same order in every run.
    func subscriptions(ofZoneNamed name: String) -> [KeptSubscription] {
        (slotsOfZone[name] ?? []).sorted().map { slots[Int($0)]! }
    }

    func hasSubscriptions(of owner: String) -> Bool { shares[owner] != nil }

    func subscription(_ id: String, of owner: String) -> KeptSubscription? {
        slotOfKey[Key(owner: owner, id: id)].flatMap { slots[Int($0)] }
    }

    subscript(slot: Int32) -> KeptSubscription? { slots[Int(slot)] }

    /// Why there is no room for the subscription, or nil.
    func refusal(of subscription: KeptSubscription) -> ServiceError? {
        let known = self.subscription(subscription.subscription.id, of: subscription.owner)
        let share = shares[subscription.owner] ?? Share()
        if known == nil, share.slots.count >= Limits.subscriptionsPerUser {
            return Self.full("a user has \(Limits.subscriptionsPerUser) subscriptions, the most for one database")
        }
        if share.textBytes - (known?.textBytes ?? 0) + subscription.textBytes > Limits.subscriptionTextBytesPerUser {
            return Self.full(
                "the texts of a user's subscriptions would have more than \(Limits.subscriptionTextBytesPerUser) bytes")
        }
        if share.predicateBytes - (known?.predicateBytes ?? 0) + subscription.predicateBytes
            > Limits.subscriptionPredicateBytesPerUser
        {
            return Self.full(
                "the predicates of a user's subscriptions would have more than \(Limits.subscriptionPredicateBytesPerUser) bytes"
            )
        }
        let growth = Self.bytes(of: subscription) - (known.map(Self.bytes) ?? 0)
        if known == nil && count >= Limits.subscriptionsPerDatabase
            || growth > 0 && bytes + growth > Limits.subscriptionBytesPerDatabase
        {
            return ServiceError(
                .limitExceeded, "the database has no room for another subscription; its users have to delete some")
        }
        return nil
    }

    private static func full(_ problem: String) -> ServiceError {
        ServiceError(.limitExceeded, problem + "; make them smaller, or delete some")
    }

    private static func bytes(of subscription: KeptSubscription) -> Int {
        subscription.textBytes + subscription.predicateBytes
    }

    /// Adds a subscription, or replaces the one with its id. Returns its place.
    mutating func put(_ subscription: KeptSubscription) -> Int32 {
        let key = Key(owner: subscription.owner, id: subscription.subscription.id)
        let slot: Int32
        if let known = slotOfKey[key] {
            slot = known
            forget(slots[Int(slot)]!, at: slot)
        } else {
            if let free = freeSlots.popLast() {
                slot = free
            } else {
                slot = Int32(slots.count)
                slots.append(nil)
            }
            slotOfKey[key] = slot
            shares[key.owner, default: Share()].slots.append(slot)
        }
        slots[Int(slot)] = subscription
        shares[key.owner]!.textBytes += subscription.textBytes
        shares[key.owner]!.predicateBytes += subscription.predicateBytes
        bytes += Self.bytes(of: subscription)
        approximateBytes += subscription.approximateBytes
        if let query = subscription.query {
            index.add(query, owner: subscription.owner, slot: slot)
        } else {
            hints.append(subscription)
        }
        if let zone = subscription.zoneName { slotsOfZone[zone, default: []].insert(slot) }
        return slot
    }

    /// Removes a subscription. Returns the place that it had, or nil when it does not exist.
    mutating func remove(_ id: String, of owner: String) -> Int32? {
        guard let slot = slotOfKey.removeValue(forKey: Key(owner: owner, id: id)) else { return nil }
        forget(slots[Int(slot)]!, at: slot)
        slots[Int(slot)] = nil
        freeSlots.append(slot)
        shares[owner]!.slots.removeAll { $0 == slot }
        if shares[owner]!.slots.isEmpty { shares[owner] = nil }
        return slot
    }

    /// Undoes all that ``put(_:)`` counted and filed.
    private mutating func forget(_ subscription: KeptSubscription, at slot: Int32) {
        shares[subscription.owner]!.textBytes -= subscription.textBytes
        shares[subscription.owner]!.predicateBytes -= subscription.predicateBytes
        bytes -= Self.bytes(of: subscription)
        approximateBytes -= subscription.approximateBytes
        if let query = subscription.query {
            index.remove(query, owner: subscription.owner, slot: slot)
        } else {
            hints.removeAll { $0 === subscription }
        }
        guard let zone = subscription.zoneName else { return }
        slotsOfZone[zone]?.remove(slot)
        if slotsOfZone[zone]?.isEmpty == true { slotsOfZone[zone] = nil }
    }
}
