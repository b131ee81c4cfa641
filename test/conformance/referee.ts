import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {z} from 'zod'

/** Two editions of the conformance suite: npm's latest, which knows the older protocol alone, and the one that knows both. */
export type Edition = 'conformance-2025' | 'conformance-2026'

const root = fileURLToPath(new URL('../..', import.meta.url))
const within = AbortSignal.timeout(300_000)

const Checks = z.array(z.object({id: z.string(), status: z.string(), errorMessage: z.string().optional()}))
export type Check = z.output<typeof Checks>[number]
/** Of each scenario that was walked what was checked in it. */
export type Walked = Map<string, Check[]>

/** That what was sent is of the right shape is checked of nothing too: with the server down it holds. */
const isHollow = ({id}: Check) => id === 'wire-schema-valid'

/** Walks scenarios against an address and answers what was checked. What it prints and its exit code count for nothing. */
export const walk = async (edition: Edition, url: string, more: readonly string[]): Promise<Walked> => {
  const folder = await mkdtemp(join(tmpdir(), 'lading-conformance-'))
  try {
    const args = [join(root, 'node_modules', edition, 'dist/index.js'), 'server', '--url', url, '-o', folder, ...more]
    const suite = spawn(process.execPath, args, {cwd: folder, stdio: 'ignore', signal: within})
    await once(suite, 'exit')
    return await readWalked(folder)
  } finally {
    await rm(folder, {recursive: true})
  }
}

const readWalked = async (folder: string): Promise<Walked> => {
  const walked: Walked = new Map()
  for (const name of await readdir(folder)) {
    const [, scenario] = /^server-(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? []
    if (scenario === undefined) continue
    const checks = Checks.parse(JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')))
    walked.set(
      scenario,
      checks.filter(check => !isHollow(check)),
    )
  }
  return walked
}

/** Something in it held and nothing failed. A scenario in which nothing was checked is none. */
export const isTicked = (checks: Check[] | undefined): boolean =>
  checks?.some(({status}) => status === 'SUCCESS') === true && checks.every(({status}) => status !== 'FAILURE' && status !== 'WARNING')

/** The scenarios a server has to walk at a revision of the protocol, as the suite's own list has them. */
export const readRequired = async (revision: string): Promise<string[]> => {
  const text = await readFile(join(root, 'node_modules/conformance-2026/requirements', `${revision}.yaml`), 'utf8')
  const [, list = ''] = /^server:\n((?: {2}- .+\n)+)/m.exec(text) ?? []
  return [...list.matchAll(/^ {2}- (\S+)$/gm)].map(([, scenario]) => scenario!)
}
