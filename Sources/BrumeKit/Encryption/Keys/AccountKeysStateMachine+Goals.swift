internal import BrumeEncryption

/// What each operation is for, once the device knows where it stands.
extension AccountKeysStateMachine {
    mutating func pursue() -> Action {
        guard let standing else { preconditionFailure("the statements were not looked at") }
        switch goal {
        case .look: return finish(.looked)
        case .identity:
            if case .notSetUp = standing { return makeFirst() }
            return finish(.looked)
        case .takeCode:
            if case .notSetUp = standing { return makeFirst() }
            guard case .available = standing else { return finish(.failed(Self.failure(standing))) }
            return handOutCode()
        case .beginAnew: return isMade ? handOutCode() : makeFirst(inPlaceOf: serverLastHash ?? [])
        case .useCode(let code): return use(code, standing)
        case .takeKeys(let given): return take(given, standing)
        case .addDevice(let keys, let name):
            guard case .available(let identity) = standing else { return finish(.failed(Self.failure(standing))) }
            return add(keys, name, identity)
        case .replaceCode:
            guard case .available(let identity) = standing else { return finish(.failed(Self.failure(standing))) }
            if isMade { return handOutCode() }
            let code = RecoveryCode()
            return make(code: code) { () throws(EncryptionRefusal) in try identity.replacingKeys(code: code).signed }
        case .removeDevice(let keys):
            guard case .available(let identity) = standing else { return finish(.failed(Self.failure(standing))) }
            return remove(keys, identity)
        }
    }

    static func failure(_ standing: Standing) -> AccountKeysFailure {
        switch standing {
        case .notSetUp: .notSetUp
        case .noKeys(let absence, _): .noKeys(absence)
        case .conflict: .conflict
        case .available: preconditionFailure("a device with keys can go on")
        }
    }

    // MARK: Codes

    /// Hands out the code that was made with a statement, once: it is forgotten first.
    private mutating func handOutCode() -> Action {
        guard let code = kept.code else { return finish(.failed(.codeNotHere)) }
        // Another device may have replaced it.
        let isCurrent = code.paperKey(scope).publicKey == kept.known?.chain.last.codeKey
        return write([.code(nil)], then: .finish(isCurrent ? .code(code) : .failed(.codeNotHere)))
    }

    private mutating func use(_ code: RecoveryCode, _ standing: Standing) -> Action {
        let paper = code.paperKey(scope).publicKey
        switch standing {
        case .notSetUp: return finish(.failed(.nothingToRecover))
        case .available(let identity):
            return finish(identity.statement.codeKey == paper ? .looked : .failed(.wrongCode))
        case .noKeys:
            guard let known = kept.known else { preconditionFailure("there is an identity that is not known") }
            return recover(known.signed, code)
        case .conflict:
            // The code of the statements that this device knows opens nothing beside them: those who show others may
            // be a device that was removed. Another code is that of a person who began anew.
            let isKnown = kept.known?.chain.statements.contains { $0.codeKey == paper } ?? false
            guard !isKnown, !rival.isEmpty, mayRecover(rival) else { return finish(.failed(.conflict)) }
            return recover(rival, code)
        }
    }

    /// Finds the identity with the code, and lists this device under new keys.
    private mutating func recover(_ signed: [SignedStatement], _ code: RecoveryCode) -> Action {
        let device = KeyPairs(seed: .random())
        do throws(EncryptionRefusal) {
            let identity = try StatementChain.recover(signed, of: scope, code: code)
            guard identity.statement.devices.count < KeyLimits.devicesMax else {
                return finish(.failed(.tooManyDevices))
            }
            let known = try KnownStatements(signed, of: scope, trust: .compared)
            let next = try identity.adding(device: device.publicKeys, deviceName: deviceName)
            conflict = nil
            let pending = PendingStatement(signed: next.signed, device: device)
            // In this order: a device that is cut off between the two still knows what it knew.
            return write([.pending(pending), .statements(known, listedAs: nil)], then: .send(pending))
        } catch {
            return finish(.failed(error == .wrongCode ? .wrongCode : .conflict))
        }
    }

    // MARK: Statements

    /// Makes the account's first statement, with this device and a new code.
    private mutating func makeFirst(inPlaceOf replacedHash: [UInt8] = []) -> Action {
        let (device, code) = (KeyPairs(seed: .random()), RecoveryCode())
        let (scope, name) = (scope, deviceName)
        return make(device: device, code: code, inPlaceOf: replacedHash) { () throws(EncryptionRefusal) in
            try Identity.first(scope: scope, device: device.publicKeys, deviceName: name, code: code).signed
        }
    }

    private mutating func remove(_ keys: PublicKeys, _ identity: Identity) -> Action {
        guard keys != kept.listedAs else { return finish(.failed(.ownDevice)) }
        guard identity.statement.devices.contains(where: { $0.keys == keys }) else {
            // It is done where it was there before, whoever removed it.
            let wasThere = identity.chain.statements.contains { $0.devices.contains { $0.keys == keys } }
            return finish(wasThere ? .looked : .failed(.unknownDevice))
        }
        return make { () throws(EncryptionRefusal) in try identity.replacingKeys(withoutDevices: [keys]).signed }
    }

    /// Keeps a new statement with its secrets, and sends it then.
    mutating func make(
        device: KeyPairs? = nil, code: RecoveryCode? = nil, inPlaceOf replacedHash: [UInt8] = [],
        _ body: () throws(EncryptionRefusal) -> SignedStatement
    ) -> Action {
        let signed: SignedStatement
        do throws(EncryptionRefusal) {
            signed = try body()
        } catch {
            return finish(.failed(.malformed("no identity can be made for the account that it names")))
        }
        let pending = PendingStatement(signed: signed, replacedHash: replacedHash, device: device, code: code)
        return write([.pending(pending)], then: .send(pending))
    }
}
