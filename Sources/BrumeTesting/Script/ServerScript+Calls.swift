public import BrumeKit
internal import BrumeModel

/// What a script does to calls.
extension ServerScript {
    /// Calls fail as a whole.
    ///
    /// Uploads and downloads that fail with `networkFailure`, `serviceUnavailable`, `requestRateLimited` or `zoneBusy`
    /// are begun again by the SDK itself, some times and with what there is, unless the error asks for more than five
    /// seconds: with a longer `retryAfterSeconds`, or another code, the app gets the error.
    ///
    /// - Parameters:
    ///   - code: Any of `CKError`'s. The SDK makes the same error of it as of a server's own.
    ///   - retryAfterSeconds: What ``BrumeKit/CKError/retryAfterSeconds`` says; nil: nothing. Milliseconds count.
    ///   - message: The error's text; nil: one that names the script.
    ///   - moment: With `afterEffect` the server does what is asked for, and answers with the error. With `afterBytes`
    ///     a transfer fails midway.
    ///   - times: How many calls; `Int.max`: all.
    @discardableResult
    public func fail(
        _ calls: CallPattern, with code: CKError.Code, retryAfterSeconds: Double? = nil, message: String? = nil,
        _ moment: CallMoment = .beforeEffect, times: Int = 1
    ) -> ScriptRule {
        let error = ServiceError(scripted: code, retryAfterSeconds: retryAfterSeconds, message: message)
        return add(
            "\(calls) fails with \(code) \(moment)", times: times, .call(calls, moment, .fails(error)))
    }

    /// Saves of records fail, each by itself: the others of its request are saved, or fail with `batchRequestFailed`
    /// where the request is atomic.
    ///
    /// `serverRecordChanged` makes the server take the save for one of an older version, so that the error has the
    /// server's record; where there is none on the server, it comes without.
    ///
    /// - Parameters:
    ///   - recordType: Nil: of any type.
    ///   - recordName: Nil: of any name.
    ///   - account: Nil: of any account's devices.
    ///   - device: Nil: of any device.
    ///   - code: Any of `CKError`'s.
    ///   - retryAfterSeconds: Nil: none.
    ///   - message: Nil: a text that names the script.
    ///   - times: How many saves; `Int.max`: all.
    @discardableResult
    public func failSaves(
        of recordType: CKRecord.RecordType? = nil, named recordName: String? = nil, from account: String? = nil,
        on device: TestDevice? = nil, with code: CKError.Code, retryAfterSeconds: Double? = nil,
        message: String? = nil, times: Int = 1
    ) -> ScriptRule {
        let error = ServiceError(scripted: code, retryAfterSeconds: retryAfterSeconds, message: message)
        let peer = PeerPattern(account: account, device: device?.identity)
        let words = ["save"] + (recordType.map { ["of \($0)"] } ?? []) + (recordName.map { ["named \($0)"] } ?? [])
        return add(
            "\((words + peer.words).joined(separator: " ")) fails with \(code)", times: times,
            .save(SavePattern(recordType: recordType, recordName: recordName, peer: peer), error))
    }

    /// Deletions of records fail, each by itself: the rest of its request goes on, or fails with `batchRequestFailed`
    /// where the request is atomic.
    ///
    /// - Parameters:
    ///   - recordName: Nil: of any name.
    ///   - account: Nil: of any account's devices.
    ///   - device: Nil: of any device.
    ///   - code: Any of `CKError`'s.
    ///   - retryAfterSeconds: Nil: none.
    ///   - message: Nil: a text that names the script.
    ///   - times: How many deletions; `Int.max`: all.
    @discardableResult
    public func failDeletions(
        ofRecordNamed recordName: String? = nil, from account: String? = nil, on device: TestDevice? = nil,
        with code: CKError.Code, retryAfterSeconds: Double? = nil, message: String? = nil, times: Int = 1
    ) -> ScriptRule {
        let error = ServiceError(scripted: code, retryAfterSeconds: retryAfterSeconds, message: message)
        let peer = PeerPattern(account: account, device: device?.identity)
        let words = ["deletion"] + (recordName.map { ["of \($0)"] } ?? []) + peer.words
        return add(
            "\(words.joined(separator: " ")) fails with \(code)", times: times,
            .deletion(recordName: recordName, peer, error))
    }

    /// The connection breaks in the midst of calls: before the server did what they ask for, or after, before its
    /// answer left, or in the midst of a transfer.
    ///
    /// The SDK connects again by itself and sends such a call once more, with the id that makes it one operation, so an
    /// app sees nothing but a pause: that it has one effect is what to look at. A transfer goes on, see
    /// ``CallMoment/afterBytes(_:)``. For an outcome that nobody knows use
    /// ``fail(_:with:retryAfterSeconds:message:_:times:)`` with `serverResponseLost`, `afterEffect`.
    @discardableResult
    public func breakConnection(
        during calls: CallPattern, _ moment: CallMoment = .beforeEffect, times: Int = 1
    ) -> ScriptRule {
        add("\(calls) breaks its connection \(moment)", times: times, .call(calls, moment, .breaksConnection))
    }

    /// Calls wait until the test lets them go. They still end after the time that the SDK gives them, 60 s; a transfer
    /// ends when nothing of it has come or gone for 120 s.
    ///
    /// ```swift
    /// let held = server.script.hold(.modifyRecords.from(phone))
    /// async let saved = phone.privateCloudDatabase.save(record)
    /// try await held.waitUntilHeld()
    /// try await laptop.privateCloudDatabase.save(other)   // comes first
    /// held.release()
    /// ```
    public func hold(_ calls: CallPattern, _ moment: CallMoment = .beforeEffect, times: Int = 1) -> ScriptHold {
        let rule = ScriptRule("\(calls) is held \(moment)", times: times)
        let hold = ScriptHold(rule)
        add(Entry(rule: rule, action: .call(calls, moment, .isHeld(hold))))
        return hold
    }

    /// The change tokens that devices have now expire: fetches with them fail with `changeTokenExpired`, until they
    /// have fetched from nil.
    ///
    /// - Parameters:
    ///   - zone: Nil: the tokens of all zones, and of databases.
    ///   - account: Nil: of all accounts' devices.
    ///   - device: Nil: of all devices.
    @discardableResult
    public func expireChangeTokens(
        in zone: CKRecordZone.ID? = nil, of account: String? = nil, on device: TestDevice? = nil
    ) -> ScriptRule {
        let peer = PeerPattern(account: account, device: device?.identity)
        let words = ["change tokens"] + (zone.map { ["of \($0.zoneName)"] } ?? []) + peer.words + ["expire"]
        return add(
            words.joined(separator: " "), times: .max, .tokens(peer, TokenExpiry(zone: zone?.zoneName)))
    }

    /// Databases hold so many records at most, users' own records aside: saves of further ones fail with
    /// `quotaExceeded`, while changes and deletions succeed. Fires with each save that fails. For a quota in bytes, as
    /// servers have it, use ``TestServer/setQuota(_:of:)``.
    ///
    /// - Parameters:
    ///   - scope: The private databases, each by itself, or the public one. The shared database has no room of its own.
    ///   - account: Whose saves count against it; nil: everybody's.
    @discardableResult
    public func limitRecords(
        to count: Int, in scope: CKDatabase.Scope = .private, of account: String? = nil
    ) -> ScriptRule {
        precondition(count >= 0, "a database can't be limited to \(count) records")
        precondition(scope != .shared, "the shared database holds no records: limit its owners' private databases")
        let peer = PeerPattern(account: account)
        let words = ["\(scope == .public ? "public" : "private") database is full at \(count) records"] + peer.words
        return add(
            words.joined(separator: " of "), times: .max,
            .quota(peer, scope == .public ? .public : .private, records: count))
    }
}
