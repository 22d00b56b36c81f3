/// An array that grows without ever moving what it holds, so that no append takes long.
struct PagedArray<Element> {
    private static var pageCount: Int { 4096 }

    private var pages: [[Element]] = []
    private(set) var count = 0

    subscript(index: Int) -> Element {
        get { pages[index / PagedArray.pageCount][index % PagedArray.pageCount] }
        set { pages[index / PagedArray.pageCount][index % PagedArray.pageCount] = newValue }
    }

    mutating func append(_ element: Element) {
        if count % PagedArray.pageCount == 0 {
            var page: [Element] = []
            // A small zone needs no whole page.
            if count > 0 { page.reserveCapacity(PagedArray.pageCount) }
            pages.append(page)
        }
        pages[pages.count - 1].append(element)
        count += 1
    }
}
