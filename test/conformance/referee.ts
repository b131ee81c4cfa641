import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {z} from 'zod'

/** Two editions of the conformance suite: npm's latest, for the older protocol only, and one for both protocols. */
export type Edition = 'conformance-2025' | 'conformance-2026'

const root = fileURLToPath(new URL('../..', import.meta.url))
const within = AbortSignal.timeout(300_000)

const Checks = z.array(z.object({id: z.string(), status: z.string(), errorMessage: z.string().optional()}))
export type Check = z.output<typeof Checks>[number]
/** The checks of each scenario that ran. */
export type Walked = Map<string, Check[]>

/** Whether a check proves nothing. The check of message shapes succeeds even without any message, for example when the server is down. */
const isHollow = ({id}: Check) => id === 'wire-schema-valid'

/** Runs scenarios against a URL and returns their checks. The suite's output and exit code are ignored. */
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

/** Whether a scenario has passed: at least one check succeeded, and none failed or gave a warning. A scenario without checks has not passed. */
export const isTicked = (checks: Check[] | undefined): boolean =>
  checks?.some(({status}) => status === 'SUCCESS') === true && checks.every(({status}) => status !== 'FAILURE' && status !== 'WARNING')

/** Returns the scenarios that the suite requires of a server at a protocol revision. */
export const readRequired = async (revision: string): Promise<string[]> => {
  const text = await readFile(join(root, 'node_modules/conformance-2026/requirements', `${revision}.yaml`), 'utf8')
  const [, list = ''] = /^server:\n((?: {2}- .+\n)+)/m.exec(text) ?? []
  return [...list.matchAll(/^ {2}- (\S+)$/gm)].map(([, scenario]) => scenario!)
}
