import test from 'ava'
import {type Change, hasRank, mayChange, type Role} from '../../api/clients/widget/state/rights.ts'

const admin = (staffView: {write: boolean} | null = null) => ({role: 'admin' as Role, staffView})
const changes: Change[] = ['write', 'money', 'person']
const mayOf = (somebody: Parameters<typeof mayChange>[0]) => changes.filter(change => mayChange(somebody, 'operator', change))

test('each role may do what those below it may, and nobody without one anything', t => {
  const roles: Role[] = ['operator', 'builder', 'admin', 'owner']
  for (const [at, role] of roles.entries())
    t.deepEqual(
      roles.filter(asked => hasRank({role, staffView: null}, asked)),
      roles.slice(0, at + 1),
    )
  for (const nobody of [null, undefined, {role: null, staffView: null}])
    t.deepEqual([hasRank(nobody, 'operator'), mayOf(nobody)], [false, []])
})

test('a view by staff is for reading, unless it may write, and never for money or what is somebody’s own', t => {
  t.deepEqual(mayOf(admin()), changes)
  t.deepEqual(mayOf(admin({write: true})), ['write'])
  t.deepEqual(mayOf(admin({write: false})), [])
  t.true(hasRank(admin({write: false}), 'admin'), 'it sees what an admin sees')
  t.false(mayChange(admin({write: true}), 'owner', 'write'))
})
