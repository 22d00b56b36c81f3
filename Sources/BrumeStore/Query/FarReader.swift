internal import BrumeGeodesy
internal import BrumeModel

/// Reads places, the farthest first: of the squares of the Earth those that reach farthest away, which are cut into
/// smaller ones where they hold many records.
///
/// A square's records are at most as far away as its middle plus the way from there to its corners; so what was not
/// read is never farther than ``metres``, whatever shape the records' places have.
struct FarReader {
    /// A square of the grid that the index of places has (``IndexKeys/place(_:)``).
    private struct Square {
        /// Its place among the squares of its size.
        let number: PostingTree.Key
        /// How often its sides are halved.
        let halvings: Int
        /// The distance that no place in it exceeds.
        let metres: Double
    }

    /// A square with at most so many records is read, not cut.
    private static let fewRecords = 64

    /// The index of places.
    let index: FieldIndex
    /// The index of all records, for those without a place.
    let all: FieldIndex
    private let centre: Geodesic.Coordinate
    /// Records that are farther away were given before.
    private let last: Double?
    /// The square that reaches farthest comes first.
    private var squares = Heap<Square> { $0.metres > $1.metres }
    /// The reader of the square that is being read.
    var reader: RangeReader?

    /// Returns nil when the centre is not a place.
    init?(_ index: FieldIndex, all: FieldIndex, centre: Geodesic.Coordinate, behind last: Double?) {
        guard Geodesic.isValid(centre) else { return nil }
        self.index = index
        self.all = all
        self.centre = centre
        self.last = last
        push(0, halvings: 0)
    }

    /// The distance that no place exceeds that is still to be read; nil when none is left.
    var metres: Double? { squares.first?.metres }

    /// Cuts the square that reaches farthest, or begins to read it.
    mutating func goOn() {
        let square = squares.pop()
        let range = IndexKeys.square(square.number, halvings: square.halvings)
        if square.halvings == IndexKeys.cellBits || index.tree.estimate(range) <= FarReader.fewRecords {
            reader = RangeReader(index, [range], isFalling: false)
            return
        }
        for quarter in PostingTree.Key(0)..<4 {
            push(square.number << 2 | quarter, halvings: square.halvings + 1)
        }
    }

    private mutating func push(_ number: PostingTree.Key, halvings: Int) {
        guard index.tree.estimate(IndexKeys.square(number, halvings: halvings)) > 0 else { return }
        let (middle, radius) = IndexKeys.circle(around: number, halvings: halvings)
        let distance = Geodesic.distance(from: centre, to: middle)
        if let last, distance - radius > last { return }
        squares.push(Square(number: number, halvings: halvings, metres: distance + radius))
    }
}
