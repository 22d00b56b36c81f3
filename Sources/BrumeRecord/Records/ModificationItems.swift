package import BrumeModel

/// What became of the items of one zone, as a message: in answers, and as operations are remembered.
///
/// ```
/// 1  for each save:      1  the record, or what else was saved
///                        2  or why it failed
///                        3  whether fields were omitted
/// 2  for each deletion:  1  why it failed
/// ```
///
/// It is written in place, without building the message; the bytes are those that protobuf-c makes of it. An answer is
/// sent as it was remembered, so both come from here.
extension ZoneModificationResult<SharedBytes> {
    /// Appends the items as a field of the message that holds them.
    ///
    /// - Parameter encode: Encodes why an item failed: the one thing that differs from message to message.
    package func append(field: UInt8, to bytes: inout [UInt8], failures encode: (ServiceError) -> [UInt8]) {
        var failures = PackedMessages()
        var count = 0
        for save in saves { count += WireSize.message(Self.byteCount(of: save, &failures, encode)) }
        for deletion in deletions {
            count += WireSize.message(deletion.map { WireSize.message(failures.append(encode($0))) } ?? 0)
        }
        bytes.append(byteCount: WireSize.message(count)) { filler in
            filler.messageHeader(field, count: count)
            for save in saves { Self.write(save, &failures, to: &filler) }
            for deletion in deletions {
                let failure = deletion.map { _ in failures.next() }
                filler.messageHeader(2, count: failure.map { WireSize.message($0.count) } ?? 0)
                if let failure { filler.message(1, failure) }
            }
        }
    }

    private static func byteCount(
        of save: SaveResult<SharedBytes>, _ failures: inout PackedMessages, _ encode: (ServiceError) -> [UInt8]
    ) -> Int {
        let outcome =
            switch save.outcome {
            case .record(let record): record.count
            case .failure(let error): failures.append(encode(error))
            case .deferred: preconditionFailure("only a fetched record can be deferred; a save is done or fails")
            }
        return WireSize.message(outcome) + WireSize.integer(save.fieldsOmitted ? 1 : 0)
    }

    private static func write(
        _ save: SaveResult<SharedBytes>, _ failures: inout PackedMessages, to filler: inout WireFiller
    ) {
        let omission: UInt64 = save.fieldsOmitted ? 1 : 0
        if case .record(let record) = save.outcome {
            filler.messageHeader(1, count: WireSize.message(record.count) + WireSize.integer(omission))
            filler.message(1, record)
        } else {
            let failure = failures.next()
            filler.messageHeader(1, count: WireSize.message(failure.count) + WireSize.integer(omission))
            filler.message(2, failure)
        }
        filler.integer(3, omission)
    }
}
