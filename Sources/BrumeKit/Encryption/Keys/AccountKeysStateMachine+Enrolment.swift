internal import BrumeEncryption

/// What another device gave this one, once persons at both had typed what the other showed.
struct GivenKeys: Sendable {
    /// What was agreed on.
    let dialogue: NewDeviceStateMachine
    /// The other device's last message.
    let done: [UInt8]
    /// This device's keys, which the other one has listed.
    let device: KeyPairs
}

/// Letting a device in, on both sides (Documentation/EncryptionFormats.md, section 9).
extension AccountKeysStateMachine {
    /// Lists a device that a person has confirmed. The account's keys stay the same.
    mutating func add(_ keys: PublicKeys, _ name: String, _ identity: Identity) -> Action {
        if identity.statement.lists(keys) { return finish(.looked) }
        guard identity.statement.devices.count < KeyLimits.devicesMax else { return finish(.failed(.tooManyDevices)) }
        return make { () throws(EncryptionRefusal) in try identity.adding(device: keys, deviceName: name).signed }
    }

    /// Takes the account's keys. What is kept first is what a statement of this device's own would be, so that the
    /// device has all or nothing when it is cut off.
    mutating func take(_ given: GivenKeys, _ standing: Standing) -> Action {
        let signed: [SignedStatement]
        switch standing {
        case .available:
            // With other keys the statements list it twice.
            let isSame = kept.device?.publicKeys == given.device.publicKeys
            return finish(isSame ? .looked : .failed(.enrolledTwice))
        case .notSetUp: return finish(.failed(.enrolmentBroken))
        case .noKeys: signed = kept.known?.signed ?? []
        case .conflict:
            guard mayFollow(rival) else { return finish(.failed(.conflict)) }
            signed = rival
        }
        do throws(EncryptionRefusal) {
            let known = try KnownStatements(signed, of: scope, trust: .compared)
            var dialogue = given.dialogue
            _ = try dialogue.take(done: given.done, statements: known)
            guard let listing = known.signed.first(where: { $0.statement.lists(given.device.publicKeys) }) else {
                throw .brokenChain
            }
            conflict = nil
            let pending = PendingStatement(signed: listing, device: given.device)
            // In this order: a device that is cut off between the two still knows what it knew.
            return write([.pending(pending), .statements(known, listedAs: nil)], then: .reconcile)
        } catch {
            return finish(.failed(error == .newer ? .newer : .enrolmentBroken))
        }
    }

    /// Whether a recovery code, which comes with new keys, may lead to what the server shows instead of what is known.
    ///
    /// On a branch that those can have signed who were kept out here it may give the new keys to no device that this
    /// one doesn't know: it could be theirs.
    func mayRecover(_ rival: [SignedStatement]) -> Bool {
        guard !mayFollow(rival), let known = kept.known?.chain.last, let last = rival.last?.statement else {
            return true
        }
        return last.devices.allSatisfy { known.lists($0.keys) }
    }

    /// Whether a person's word is enough to give up what this device knows for what the server shows.
    ///
    /// It is where the account began anew. Of two branches of one chain, the other must not be able to come from those
    /// whom this one kept out: as soon as a device was removed here, or the code replaced, whoever had the keys of
    /// before can have signed the other branch, whichever devices it lists. Then its device makes a new recovery code,
    /// and with it new keys.
    private func mayFollow(_ rival: [SignedStatement]) -> Bool {
        guard let known = kept.known?.signed, let first = rival.first else { return false }
        guard first.statement.hash == known.first?.statement.hash else { return true }
        let common = zip(known, rival).prefix { $0.statement.hash == $1.statement.hash }.count
        return known[(common - 1)...].allSatisfy { $0.statement.keys == known[common - 1].statement.keys }
    }
}
