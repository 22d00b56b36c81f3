internal import BrumeModel

/// The records of a zone that name assets: how many they are, and what has changed since somebody last asked.
struct ZoneAssets: Sendable {
    /// Records before and after changes, of which at least one names assets.
    struct News: Sendable {
        /// Versions that name assets, and have become the records'.
        var named: [SharedBytes] = []
        /// Versions that name assets, and are the records' no longer.
        var dropped: [SharedBytes] = []
    }

    /// Records that name assets.
    private(set) var holderCount = 0
    /// Whether there are any. Asked after every change, and read by itself.
    private(set) var hasNews = false
    private var news = News()

    /// A version that names assets has become a record's.
    mutating func add(_ record: SharedBytes) {
        holderCount += 1
        news.named.append(record)
        hasNews = true
    }

    /// A version that names assets is a record's no longer.
    mutating func remove(_ record: SharedBytes) {
        holderCount -= 1
        news.dropped.append(record)
        hasNews = true
    }

    /// A record that names assets was loaded. That is no news: see ``Database/referenceLoadedAssets()``.
    mutating func noteLoaded() { holderCount += 1 }

    mutating func takeNews() -> News {
        hasNews = false
        return exchange(&news, with: News())
    }
}
