import type {Command} from 'commander'
import type {Cli} from '../cli/session.ts'

/** `names`: the commands it has, with their summaries in the same order. */
type Noun = {
  name: string
  names?: string[]
  summary: string | string[]
  group: string
  load(): Promise<{default(cli: Cli, program: Command): void}>
}

const [begin, rows, shape, more] = ['Begin:', 'Import:', 'Set up:', 'More:']

/** Every command, in the order help shows them. Its file is read when it is meant. */
export const nouns: Noun[] = [
  {
    name: 'login',
    names: ['login', 'logout', 'whoami'],
    summary: ['sign in, by browser or with a token', 'end the session at a server', 'show who is signed in, and where'],
    group: begin,
    load: () => import('./login.ts'),
  },
  {
    name: 'connections',
    names: ['connections', 'discover'],
    summary: ['list the CRMs the org is connected to', "read a CRM's modules and fields"],
    group: begin,
    load: () => import('./connections.ts'),
  },
  {name: 'import', summary: 'import files into the CRM', group: rows, load: () => import('./import.ts')},
  {
    name: 'run',
    names: ['run', 'watch', 'retry', 'cancel'],
    summary: ['run an import that is there', 'follow a run to its end', 'carry an ended run on', 'stop a run'],
    group: rows,
    load: () => import('./run.ts'),
  },
  {name: 'checks', summary: 'say what of an import would go wrong', group: rows, load: () => import('./checks.ts')},
  {name: 'runs', summary: 'list imports and their runs', group: rows, load: () => import('./runs.ts')},
  {
    name: 'logs',
    names: ['logs', 'results'],
    summary: ['show what became of every row', 'get a run as a file'],
    group: rows,
    load: () => import('./logs.ts'),
  },
  {name: 'templates', summary: 'list, show, check, export and import templates', group: shape, load: () => import('./templates.ts')},
  {name: 'schedules', summary: 'list, fire and switch schedules', group: shape, load: () => import('./schedules.ts')},
  {name: 'config', summary: "the org's configuration as files", group: shape, load: () => import('./config.ts')},
  {name: 'libraries', summary: 'list and publish libraries of functions', group: shape, load: () => import('./libraries.ts')},
  {name: 'tokens', summary: 'list, create and revoke API tokens', group: more, load: () => import('./tokens.ts')},
  {name: 'jobs', summary: 'show a job, or wait for it', group: more, load: () => import('./jobs.ts')},
  {name: 'usage', summary: 'show what of the plan is used', group: more, load: () => import('./usage.ts')},
  {name: 'billing', summary: 'set up and check what is sold (operators)', group: more, load: () => import('./billing.ts')},
  {name: 'completion', summary: 'print a completion script for a shell', group: more, load: () => import('./completion.ts')},
  {name: 'help', summary: 'explain a command or a topic', group: more, load: () => import('./help.ts')},
]
