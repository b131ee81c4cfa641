import test from 'ava'
import {type Effect, isClosedToViews} from '../../api/access.ts'
import {type Change, hasRank, mayChange, type Role, whyClosed} from '../../api/clients/widget/state/rights.ts'

const admin = (staffView: {write: boolean} | null = null) => ({role: 'admin' as Role, staffView})
const changes: Change[] = ['write', 'money', 'access', 'person']
const mayOf = (somebody: Parameters<typeof mayChange>[0]) => changes.filter(change => mayChange(somebody, 'operator', change))

test('each role may do what lower roles may, and a person without a role nothing', t => {
  const roles: Role[] = ['operator', 'builder', 'admin', 'owner']
  for (const [at, role] of roles.entries())
    t.deepEqual(
      roles.filter(asked => hasRank({role, staffView: null}, asked)),
      roles.slice(0, at + 1),
    )
  for (const nobody of [null, undefined, {role: null, staffView: null}])
    t.deepEqual([hasRank(nobody, 'operator'), mayOf(nobody)], [false, []])
})

test('a staff view is read-only unless it may write, and never allows money or personal changes', t => {
  t.deepEqual(mayOf(admin()), changes)
  t.deepEqual(mayOf(admin({write: true})), ['write'])
  t.deepEqual(mayOf(admin({write: false})), [])
  t.true(hasRank(admin({write: false}), 'admin'), 'it sees what an admin sees')
  t.false(mayChange(admin({write: true}), 'owner', 'write'))
})

test('actions that the API closes to staff views are closed in the widget, with the reason', t => {
  const effects = ['write', 'money', 'access'] as const satisfies Effect[]
  for (const effect of effects) {
    t.is(mayChange(admin({write: true}), 'admin', effect), !isClosedToViews(effect), effect)
    t.is(whyClosed(admin({write: true}), 'admin', effect) !== null, isClosedToViews(effect), effect)
    t.is(whyClosed(admin(), 'admin', effect), null)
    t.is(whyClosed(admin({write: true}), 'owner', effect), null, 'the role is missing, which a member of the org would not change')
  }
  t.regex(whyClosed(admin({write: true}), 'admin', 'access')!, /Ask a member/)
})
