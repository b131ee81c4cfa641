import test from 'ava'
import {keepUnfit, listUnfit} from '../../api/clients/widget/imports/unfit-files.ts'

type Shown = Parameters<typeof listUnfit>[0]
const issues = [{path: [], message: 'The file has no column "title"'}]
const shown = (sources: string[], filled: Record<string, string | null> = {leads: null, deals: null}) => {
  const slots = Object.entries(filled).map(([slot, sourceId]) => ({slot, sourceId}))
  return listUnfit({id: 'imp', slots, sources: sources.map(id => ({id}))} as Shown).map(({name}) => name)
}
const read = (id: string, slot: string, given = issues) =>
  keepUnfit('imp', {source: {id, name: `${id}.csv`}, filled: {slot, issues: given}})

test('a file that does not fit its slot is shown until it is removed, fills a slot, or a newer file fits the slot', t => {
  read('a', 'leads')
  read('b', 'deals')
  read('c', 'contacts', [])
  t.deepEqual(shown(['a', 'b']), ['a.csv', 'b.csv'])
  t.deepEqual(shown(['b']), ['b.csv'], 'removed')
  t.deepEqual(shown(['a', 'b'], {leads: null, deals: 'b'}), ['a.csv'], 'the file fills the slot after a change')
  read('d', 'leads', [])
  t.deepEqual(shown(['a', 'b', 'd'], {leads: 'd', deals: null}), ['b.csv'], 'a newer file fits')
})
