import {createHash} from 'node:crypto'
import test from 'ava'
import {openIndexTable} from '../../sql/match-index.ts'

const keyOf = (text: string) => createHash('md5').update(text).digest()
const record = (id: number, key: string | null, digest = 'd') => ({
  id: `${id}`,
  key: key === null ? null : keyOf(key),
  digests: Buffer.from(digest),
})
const idsOf = (found: {id: string}[]) => found.map(({id}) => Number(id)).toSorted((a, b) => a - b)

test('records are found by their key, also after changes of the key, and after they were removed', t => {
  const index = openIndexTable()
  t.teardown(index.close)
  const keys = new Map<number, string>()
  index.fill(Array.from({length: 1_000}, (_, id) => record(id, `key ${id % 700}`)))
  for (let id = 0; id < 1_000; id++) keys.set(id, `key ${id % 700}`)
  index.fill([record(5_000, null)])
  const assertFound = () => {
    for (let n = 0; n < 900; n++)
      t.deepEqual(
        idsOf(index.find(keyOf(`key ${n}`))),
        [...keys].filter(([, key]) => key === `key ${n}`).map(([id]) => id),
      )
  }
  assertFound()
  for (let id = 0; id < 300; id++) {
    index.put([record(id, `key ${id + 500}`, 'new')])
    keys.set(id, `key ${id + 500}`)
  }
  for (let id = 400; id < 450; id++) index.put([record(id, keys.get(id)!, 'same key')])
  index.put([record(460, null)])
  index.remove(['470', '471', 'unknown'])
  for (const id of [460, 470, 471]) keys.delete(id)
  assertFound()
  t.deepEqual(
    index.find(keyOf('key 410')).map(({digests}) => String(digests)),
    ['same key'],
  )
})

test('a record that an export holds twice is found by its new key only, once its change is put', t => {
  const index = openIndexTable()
  t.teardown(index.close)
  index.fill([record(1, 'old')])
  index.fill([record(1, 'new')])
  index.put([record(1, 'new', 'as it is now')])
  t.deepEqual([idsOf(index.find(keyOf('old'))), idsOf(index.find(keyOf('new')))], [[], [1]])
  index.put([record(1, 'newest')])
  t.deepEqual([idsOf(index.find(keyOf('old'))), idsOf(index.find(keyOf('new'))), idsOf(index.find(keyOf('newest')))], [[], [], [1]])
})
