import test from 'ava'
import {listPlainFields} from '../../../../shared/mapping/data-contracts/propose.ts'

test('a field is plain if a column of the slot fills it unchanged', t => {
  const column = {mode: 'column', source: 'a'}
  const fields = [
    {...column, field: 'Plain'},
    {...column, field: 'Computed', transform: 'value.trim()'},
    {...column, field: 'Mapped', values: [{from: 'x', to: 'y'}]},
    {field: 'Fixed', mode: 'static', staticValue: 'x'},
  ]
  const flowOf = (id: string, sourceId: string) => ({id, sourceId, module: 'Leads', fields})
  t.deepEqual(listPlainFields([flowOf('f1', 's'), flowOf('f2', 'other')], 's'), [{column: 'a', module: 'Leads', field: 'Plain'}])
})
