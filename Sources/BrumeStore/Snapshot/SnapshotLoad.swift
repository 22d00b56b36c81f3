internal import BrumeLock
internal import BrumeModel
internal import BrumeRecord

/// Loads a snapshot on several threads: each takes the next block of the file, decompresses and decodes it, and
/// whichever has made the next one in order puts what is ready into the database.
///
/// The result, and which damage is reported, does not depend on which thread was quicker: everything counts in the
/// order of the file.
///
/// `@unchecked Sendable`: all that changes is touched under `lock`.
final class SnapshotLoad: @unchecked Sendable {
    private let lock = Lock<Void>(())
    private let header: SnapshotHeader
    private let goesOn: @Sendable () -> Bool

    private var reader: SnapshotReader
    private let loader: DatabaseLoader
    /// The number of blocks that were taken.
    private var takenCount = 0
    /// Whether no other block may be taken.
    private var isAtEnd = false
    /// The outcomes of blocks that were ready before a block that precedes them.
    private var ready: [Int: Outcome] = [:]
    /// The number of blocks whose content is in the database.
    private var addedCount = 0
    private var end: End?

    private enum Outcome {
        case block(LoadedBlock, offset: UInt64)
        case end(End)
    }

    private enum End {
        /// The footer's content.
        case footer([UInt8])
        /// The content is more than the limits allow.
        case tooLong
        case failure(StoreError)
    }

    init(
        _ reader: SnapshotReader, header: SnapshotHeader, epoch: UInt32, while goesOn: @escaping @Sendable () -> Bool
    ) {
        self.reader = reader
        self.header = header
        self.goesOn = goesOn
        loader = DatabaseLoader(id: header.database, epoch: epoch, sequence: header.sequence)
    }

    /// Loads the database. Returns nil when the content is more than the limits allow.
    func run(with threads: LoadThreads) throws(StoreError) -> Database? {
        if let problem = loader.add(header) { throw reader.damage(problem) }
        threads.forEach(threads.count) { _ in work(threads) }
        switch end {
        case .footer(let footer):
            try reader.check(footer: footer, header: header, counts: loader.counts, blocks: UInt64(addedCount))
        case .tooLong: return nil
        case .failure(let error): throw error
        case nil: preconditionFailure("a load ended before the snapshot did")
        }
        switch loader.finish(with: threads) {
        case .success(let database): return database
        case .failure(let problem): throw reader.damage(problem.text)
        }
    }

    // MARK: On any of the threads

    private func work(_ threads: LoadThreads) {
        // One block after the other is read and decompressed into these.
        var payload: [UInt8] = []
        var room: [UInt8] = []
        let decompressor = ZstandardDecompressor()
        while let (index, block, reader) = lock.withLock({ _ in take(&payload) }) {
            let outcome: Outcome
            do throws(StoreError) {
                outcome = .block(try decode(block, reader, payload, decompressor, &room, threads), offset: block.offset)
            } catch {
                outcome = .end(.failure(error))
            }
            lock.withLock { _ in add(outcome, at: index) }
        }
    }

    private func decode(
        _ block: SnapshotReader.RawBlock, _ reader: SnapshotReader, _ payload: [UInt8],
        _ decompressor: ZstandardDecompressor, _ room: inout [UInt8], _ threads: LoadThreads
    ) throws(StoreError) -> LoadedBlock {
        let outcome: Result<Result<LoadedBlock, DatabaseLoader.Problem>, StoreError> =
            payload.withUnsafeBytes { payload in
                Result { () throws(StoreError) in
                    guard try reader.check(block, payload) == .content else {
                        throw reader.damage("a second header follows", at: block.offset)
                    }
                    return try reader.withContent(of: block, payload, decompressor, room: &room) { content in
                        Result { () throws(DatabaseLoader.Problem) in
                            try LoadedBlock(content, upTo: header.sequence, with: threads)
                        }
                    }
                }
            }
        switch try outcome.get() {
        case .success(let loaded): return loaded
        case .failure(let problem): throw reader.damage(problem.text, at: block.offset)
        }
    }

    // MARK: Under the lock

    /// Reads the next block; nil when there is none for this thread.
    private func take(_ payload: inout [UInt8]) -> (index: Int, block: SnapshotReader.RawBlock, reader: SnapshotReader)?
    {
        if isAtEnd { return nil }
        let last: End
        do throws(StoreError) {
            guard goesOn() else { throw reader.stopped }
            if let block = try reader.nextRawBlock(into: &payload) {
                if block.statedKind != .footer {
                    takenCount += 1
                    return (takenCount - 1, block, reader)
                }
                last = .footer(try reader.footer(block, payload))
            } else {
                last = .tooLong
            }
        } catch {
            last = .failure(error)
        }
        isAtEnd = true
        add(.end(last), at: takenCount)
        return nil
    }

    /// Takes the outcome of a block, and then those of the blocks after it that are ready.
    private func add(_ outcome: Outcome, at index: Int) {
        ready[index] = outcome
        while end == nil, let next = ready.removeValue(forKey: addedCount) {
            switch next {
            case .block(let block, let offset):
                if let problem = loader.add(block) {
                    end = .failure(reader.damage(problem, at: offset))
                } else {
                    addedCount += 1
                }
            case .end(let last): end = last
            }
        }
        if case .end = outcome { isAtEnd = true }
        if end != nil { isAtEnd = true }
    }
}
