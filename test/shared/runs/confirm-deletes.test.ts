import test from 'ava'
import {assertMayDelete} from '../../../shared/runs/confirm-deletes.ts'

test('a schedule and an operator cannot start flows that delete, and nothing keeps them from other flows', t => {
  const flows = [{action: 'delete' as const}]
  t.like(
    t.throws(() => assertMayDelete(flows, null)),
    {code: 'DELETES_UNCONFIRMED'},
  )
  t.like(
    t.throws(() => assertMayDelete(flows, 'operator')),
    {code: 'ROLE_REQUIRED'},
  )
  t.notThrows(() => assertMayDelete(flows, 'builder'))
  t.notThrows(() => assertMayDelete([{}], null))
})
