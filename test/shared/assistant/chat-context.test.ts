import test from 'ava'
import {z} from 'zod'
import {readContext} from '../../../shared/assistant/chat/context.ts'
import {type Parsing, parseHere} from '../../../shared/files/parser/pool.ts'
import {sql} from '../../../sql/database.ts'
import {openHome} from '../../support/ai.ts'
import {startTestDeployment} from '../../support/test-deployment.ts'

test('a question holds no database transaction while it waits for a parser thread', async t => {
  const house = await startTestDeployment(t)
  const {org} = await openHome(house, {pii: ['Last_Name']})
  const waiting = sql.type(z.object({count: z.number()}))`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`
  const seen: number[] = []
  const parsing: Parsing = {
    ...parseHere({} as never),
    async run() {
      seen.push(await house.db.oneFirst(waiting))
      return [] as never
    },
  }
  const columns = Array.from({length: 300}, (_, at) => ({name: `Column ${at}`, samples: ['x']}))
  const asked = {org, importId: null, place: null, sourceId: null, modules: [], sample: {columns, rows: []}}
  await readContext({db: house.db, parsing}, asked as never)
  t.deepEqual(seen, [0])
})
