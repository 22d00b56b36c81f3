public import BrumeKit
package import BrumeModel
internal import BrumeRecord
internal import BrumeServer
package import BrumeService

/// What a script does to the way between devices and server, and where it makes the server as slow and as loose as
/// CloudKit.
extension ServerScript {
    /// Calls take so long: each waits until the test turns ``TestServer/clock`` by that, beside what else happens to
    /// it.
    ///
    /// ```swift
    /// server.script.delay(.modifyRecords, by: .seconds(3))
    /// async let saved = phone.privateCloudDatabase.save(record)
    /// await server.clock.waitUntilScheduled()     // the call has come
    /// server.clock.advance(by: .seconds(3))
    /// ```
    ///
    /// A call still ends after the time that the SDK gives it, 60 s of the machine's clock. Delays of several rules add
    /// up.
    ///
    /// - Parameters:
    ///   - duration: In whole milliseconds.
    ///   - moment: With `afterEffect` it is the answer that is late.
    ///   - times: How many calls; all by default.
    @discardableResult
    public func delay(
        _ calls: CallPattern, by duration: Duration, _ moment: CallMoment = .beforeEffect, times: Int = .max
    ) -> ScriptRule {
        let milliseconds = duration.wholeMilliseconds("a call can't be delayed by \(duration)")
        return add(
            "\(calls) takes \(duration) \(moment)", times: times,
            .delay(calls, moment, milliseconds: milliseconds))
    }

    /// Uploads and downloads of assets are slow: after so many bytes each waits until the test has turned
    /// ``TestServer/clock`` by a second, and after as many again for the next one. Fires with each second.
    ///
    /// ```swift
    /// server.script.limitTransfers(toBytesPerSecond: 100_000, of: .downloadAsset)
    /// async let photo = phone.privateCloudDatabase.record(for: id)
    /// await server.clock.waitUntilScheduled()     // 100,000 bytes have gone
    /// server.clock.advance(by: .seconds(1))
    /// ```
    ///
    /// A transfer of which nothing comes or goes for 120 s of the machine's clock ends, as on any server.
    ///
    /// - Parameter calls: Those that are no transfers are left alone.
    @discardableResult
    public func limitTransfers(toBytesPerSecond byteCount: Int, of calls: CallPattern = .any) -> ScriptRule {
        precondition(byteCount > 0, "a transfer of \(byteCount) bytes a second has no end")
        return add(
            "transfers of \(calls) have \(byteCount) bytes a second", times: .max,
            .rate(calls, bytesPerSecond: UInt64(byteCount)))
    }

    /// A device loses its network in the midst of a call, and has none until ``TestDevice/goOnline()``: before the
    /// server did what the call asks for, its request is lost, after that, the answer. The device can't tell one from
    /// the other.
    ///
    /// Saves and deletions fail with `serverResponseLost`, reads with `networkUnavailable`. Calls of the qualities of
    /// service `utility` and `background` wait, and are sent again when there is a network, which has one effect.
    @discardableResult
    public func loseNetwork(
        during calls: CallPattern, _ moment: CallMoment = .beforeEffect, times: Int = 1
    ) -> ScriptRule {
        add("\(calls) loses its network \(moment)", times: times, .call(calls, moment, .losesNetwork))
    }

    /// Pages of queries and of changes have so many items at most, so that an app has to ask for the next one.
    ///
    /// An atomic batch may then come in several pages. Fires with each page that is limited.
    ///
    /// - Parameters:
    ///   - itemCount: Records, deletions or zones; 1 at least.
    ///   - calls: Those of other kinds go unchanged.
    @discardableResult
    public func limitPages(to itemCount: Int, of calls: CallPattern = .any, times: Int = .max) -> ScriptRule {
        precondition(itemCount > 0, "a page has an item at least; it can't be limited to \(itemCount)")
        return add(
            "pages of \(calls) have \(itemCount) items at most", times: times, .pages(calls, itemCount: itemCount))
    }

    /// Fetches of a zone's changes give records before those that they refer to: a child before its parent, an item
    /// before its list. CloudKit promises no order, and an app has to cope with a record whose parent it does not have
    /// yet.
    ///
    /// Where a fetch has several pages (``limitPages(to:of:times:)``), the records that refer to none come last, in
    /// further pages where one does not hold them. Fires with each page that is another by it.
    ///
    /// - Parameter zone: Nil: in all zones.
    @discardableResult
    public func giveChildrenFirst(in zone: CKRecordZone.ID? = nil) -> ScriptRule {
        add(
            "changes\(zone.map { " of \($0.zoneName)" } ?? "") give children first", times: .max,
            .childrenFirst(ChildrenFirst(zone: zone?.zoneName)))
    }

    /// Queries don't find records that were saved within the last `duration`, until the test turns
    /// ``TestServer/clock``: CloudKit's indexes come after its saves. Fetches by id and of changes find them at once.
    /// Fires with each query that misses some.
    ///
    /// A record that was changed is missed as one that is new: what the query would have found before the change is not
    /// known.
    ///
    /// The server needs a clock that can be turned: ``TestServer/Options/clock``, or
    /// ``TestServer/Options/predictable``. Without one this traps.
    @discardableResult
    public func delayIndexes(by duration: Duration) -> ScriptRule {
        precondition(
            datesRecords,
            "indexes are late by the server's clock: start it with TestServer.Options.clock, or with .predictable")
        let milliseconds = duration.wholeMilliseconds("indexes can't be late by \(duration)")
        return add("indexes are late by \(duration)", times: .max, .indexLag(milliseconds: milliseconds))
    }

    // MARK: The server asks

    package func willAnswer(
        _ page: inout ZoneChangesPage<SharedBytes, ChangeToken>, to request: ZoneChangesRequest,
        of peer: InterceptedPeer
    ) {
        if devices.isKits(peer.deviceID) { return }
        for entry in entries {
            guard case .childrenFirst(let order) = entry.action else { continue }
            if entry.rule.isDone {
                order.release(into: &page, to: request, of: peer)
            } else if order.reorder(&page, to: request, of: peer) {
                _ = entry.rule.fire()
            }
        }
    }

    package func willAnswer(_ page: inout QueryPage<SharedBytes>, of peer: InterceptedPeer) {
        if devices.isKits(peer.deviceID) { return }
        let now = clock.dateMilliseconds
        for entry in entries where !entry.rule.isDone {
            guard case .indexLag(let milliseconds) = entry.action else { continue }
            let count = page.matches.count
            page.matches.removeAll { match in
                guard let record = try? StoredRecord.parts(of: match.record) else { return false }
                return record.system.modifiedMilliseconds > now - Int64(milliseconds)
            }
            if page.matches.count < count { _ = entry.rule.fire() }
        }
    }
}
