package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Rings.Append` and `Rings.Fetch`. What guests send is in `MessageCoder+RingGuests.swift`.
extension MessageCoder {
    // MARK: The server's side

    package func decodeAppendRingEntryRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> AppendRingEntryRequest {
        let message = try request(brume__v1__append_ring_entry_request__unpack, bytes)
        let entry = message.pointee.entry
        guard entry.len > 0 else {
            throw ServiceError(.invalidArguments, "the request has no entry; a signed one belongs there")
        }
        guard entry.len <= Limits.ringEntryBytes else {
            throw ServiceError(
                .limitExceeded, "a ring's entry has \(entry.len) bytes; the limit is \(Limits.ringEntryBytes)")
        }
        return AppendRingEntryRequest(
            zone: try ZoneCoder.checked(message.pointee.zone), entry: SharedBytes(entry.array),
            statements: try guestStatements(message.pointee.statements, message.pointee.n_statements))
    }

    package func encodeAppendRingEntryResponse() -> [UInt8] { [] }

    package func decodeFetchRingRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> FetchRingRequest {
        let message = try request(brume__v1__fetch_ring_request__unpack, bytes)
        return FetchRingRequest(
            zone: try ZoneCoder.checked(message.pointee.zone), root: try ringRoot(message.pointee.root),
            after: message.pointee.after)
    }

    package func encodeFetchRingResponse(_ page: RingPage) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_ring_response__init)
            message.pointee.n_entries = page.entries.count
            message.pointee.entries = arena.list(page.entries)
            message.pointee.last = page.last
            message.pointee.n_guests = page.guests.count
            message.pointee.guests = arena.messages(page.guests, arena.ringGuest)
            message.pointee.n_departed = page.departed.count
            message.pointee.departed = arena.list(page.departed)
            message.pointee.n_renewed = page.renewed.count
            message.pointee.renewed = arena.list(page.renewed)
            return message
        }
    }

    // MARK: The client's side

    package func encodeAppendRingEntryRequest(_ request: AppendRingEntryRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__append_ring_entry_request__init)
            message.pointee.zone = arena.zoneID(request.zone)
            message.pointee.entry = arena.data(request.entry.array)
            message.pointee.n_statements = request.statements.count
            message.pointee.statements = arena.list(request.statements)
            return message
        }
    }

    package func decodeAppendRingEntryResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try answer(brume__v1__append_ring_entry_response__unpack, bytes)
    }

    package func encodeFetchRingRequest(_ request: FetchRingRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_ring_request__init)
            message.pointee.zone = arena.zoneID(request.zone)
            message.pointee.root = arena.data(request.root)
            message.pointee.after = request.after
            return message
        }
    }

    package func decodeFetchRingResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> RingPage {
        let message = try answer(brume__v1__fetch_ring_response__unpack, bytes)
        return RingPage(
            entries: (0..<message.pointee.n_entries).map { SharedBytes(message.pointee.entries[$0].array) },
            last: message.pointee.last,
            guests: try (0..<message.pointee.n_guests).map { place throws(ServiceError) in
                try ringGuest(message.pointee.guests[place]!)
            },
            departed: try users(message.pointee.departed, message.pointee.n_departed),
            renewed: try users(message.pointee.renewed, message.pointee.n_renewed))
    }
}
