import test from 'ava'
import {findCommands} from '../../api/clients/widget/commands/find-commands.ts'

const commands = [
  {id: '1', label: 'New import', kind: 'Action', also: 'upload'},
  {id: '2', label: 'Imports', kind: 'Page'},
  {id: '3', label: 'Übersicht Müller', kind: 'Import'},
  {id: '4', label: 'Lisbon fair', kind: 'Import'},
]
const find = (text: string) => findCommands(commands, text).map(({id}) => id)

test('a command is found by words of its label, its kind and its synonyms, without regard to case and accents', t => {
  t.deepEqual(find('UPLOAD'), ['1'])
  t.deepEqual(find('muller uber'), ['3'])
  t.deepEqual(find('fair import'), ['4'])
  t.deepEqual(find('nothing'), [])
})

test('labels that begin with the text come first, and without a text the order stays', t => {
  t.deepEqual(find('import'), ['2', '1', '3', '4'])
  t.deepEqual(find('  '), ['1', '2', '3', '4'])
  const many = Array.from({length: 40}, (_, n) => ({id: String(n), label: `Import ${n}`, kind: 'Import'}))
  t.is(findCommands(many, 'import').length, 12)
})
