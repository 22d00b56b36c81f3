internal import BrumeModel

/// How much of a zone's feed a page takes.
///
/// The server's own page ends at ``Limits/changesPerPage`` or ``Limits/pageBytes``, and then completes the commit that
/// it is in while that fits into a frame. A limit of the caller's ends the page wherever it is reached. One item always
/// fits.
///
/// The assets of a page are not in it, but who reads on from its token has fetched them: so ``Limits/pageAssetBytes``
/// end a page too, and ``Limits/pageAssetBytesMax`` where it completes a commit.
struct PageRoom {
    private let countLimit: Int?
    private let completedItems: Int
    private var count = 0
    private var bytes = 0
    private var assetBytes: UInt64 = 0
    private var fieldsRead = 0

    /// - Parameters:
    ///   - countLimit: The caller's; nil for none.
    ///   - completedItems: The most items of a page that completes a commit.
    init(countLimit: Int?, completedItems: Int = .max) {
        self.countLimit = countLimit
        self.completedItems = completedItems
    }

    /// Takes room for an item; false if the page is full.
    ///
    /// - Parameters:
    ///   - assetBytes: Of the assets that the item names.
    ///   - fields: How many fields were read to show it.
    ///   - goesOn: Whether the item before is of the same commit.
    ///   - isLate: Whether the page took long already, and ends with a commit.
    mutating func take(
        _ cost: Int, assetBytes added: UInt64 = 0, fields: Int, goesOn: Bool, isLate: Bool = false
    ) -> Bool {
        fieldsRead += fields
        let (sum, isMost) = assetBytes.addingReportingOverflow(added)
        let assetSum = isMost ? .max : sum
        if count > 0 {
            let isFull =
                count >= countLimit ?? Limits.changesPerPage || bytes + cost > Limits.pageBytes
                || assetSum > Limits.pageAssetBytes || fieldsRead > Limits.pageFieldsRead || isLate
            let completesCommit =
                goesOn && count < countLimit ?? completedItems && bytes + cost <= PageRoom.completedBytes
                && assetSum <= Limits.pageAssetBytesMax
            if isFull, !completesCommit { return false }
        }
        count += 1
        bytes += cost
        assetBytes = assetSum
        return true
    }

    /// Bytes that a page may reach when it completes the commit that it is in: below ``Limits/frameBytes`` with room
    /// for the rest of the message.
    static let completedBytes = 3 * 1024 * 1024 + 512 * 1024

    /// What a deletion costs beside its name and type: tags, lengths and nesting.
    private static let deletionOverheadBytes = 16

    static func cost(of deletion: DeletedRecord) -> Int {
        deletion.name.utf8.count + deletion.type.utf8.count + deletionOverheadBytes
    }
}
