import test from 'ava'
import {openRowSort} from '../../../../shared/runs/results/row-sort.ts'

type Item = {group: string; number: number; cells: string[]}

const compare = (a: Item, b: Item) => (a.group < b.group ? -1 : a.group > b.group ? 1 : a.number - b.number)
const sizeOf = ({cells}: Item) => cells.join('').length

const items = Array.from(
  {length: 4_000},
  (_, number): Item => ({
    group: `g${(number * 7_919) % 101}`,
    number,
    cells: [`cell ${number}, "quoted"\nand of two lines`, number % 9 ? 'ß€😀' : 'x'.repeat(5_000)],
  }),
)

for (const chunkBytes of [1_000_000_000, 200_000, 20_000]) {
  test(`items that exceed memory are sorted, in chunks of ${chunkBytes} bytes`, async t => {
    const sorting = openRowSort({compare, sizeOf, chunkBytes})
    for (let from = 0; from < items.length; from += 500) await sorting.add(items.slice(from, from + 500))
    const sorted: Item[] = []
    for await (const some of sorting.sorted()) {
      t.true(some.length <= 500)
      sorted.push(...some)
    }
    await sorting.close()
    t.deepEqual(sorted, items.toSorted(compare))
  })
}

test('sorting no items gives none', async t => {
  const sorting = openRowSort({compare, sizeOf})
  t.true((await sorting.sorted().next()).done)
  await sorting.close()
})
