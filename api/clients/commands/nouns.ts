import type {Command} from 'commander'
import type {Cli} from '../cli/session.ts'

/** One file of commands. `names` lists its commands if it has several, in the order of their summaries. */
type Noun = {
  name: string
  names?: string[]
  summary: string | string[]
  group: string
  load(): Promise<{default(cli: Cli, program: Command): void}>
}

const [begin, rows, shape, more] = ['Get started:', 'Import:', 'Set up:', 'More:']

/** All commands, in the order of the help. A file is loaded only when its command is used. */
export const nouns: Noun[] = [
  {name: 'up', summary: 'run Lading with stand-ins on this machine', group: begin, load: () => import('./up.ts')},
  {
    name: 'login',
    names: ['login', 'logout', 'whoami'],
    summary: ['sign in with the browser or a token', 'sign out of a server', 'show the current user, org and server'],
    group: begin,
    load: () => import('./login.ts'),
  },
  {
    name: 'connections',
    names: ['connections', 'discover', 'doctor'],
    summary: ['list connections to CRMs', "read a CRM's modules and fields", 'check how a CRM behaves'],
    group: begin,
    load: () => import('./connections.ts'),
  },
  {name: 'import', summary: 'import files into the CRM', group: rows, load: () => import('./import.ts')},
  {name: 'map', summary: 'match the columns of a file with a module', group: rows, load: () => import('./map.ts')},
  {
    name: 'run',
    names: ['run', 'watch', 'retry', 'resume', 'cancel'],
    summary: ['run an uploaded import', 'follow a run to its end', 'retry an ended run', 'resume a held run', 'cancel a run'],
    group: rows,
    load: () => import('./run.ts'),
  },
  {
    name: 'plan',
    names: ['plan', 'apply'],
    summary: ['seal what an import would write', 'apply a sealed plan'],
    group: rows,
    load: () => import('./plan.ts'),
  },
  {name: 'undo', summary: 'undo a run', group: rows, load: () => import('./undo.ts')},
  {name: 'checks', summary: 'check an import for problems', group: rows, load: () => import('./checks.ts')},
  {
    name: 'runs',
    names: ['imports', 'runs'],
    summary: ['list imports with their last run', 'list runs, or show one'],
    group: rows,
    load: () => import('./runs.ts'),
  },
  {
    name: 'logs',
    names: ['logs', 'results'],
    summary: ['show the log of a run', 'download the results of a run'],
    group: rows,
    load: () => import('./logs.ts'),
  },
  {name: 'templates', summary: 'list, show, check, export and import templates', group: shape, load: () => import('./templates.ts')},
  {name: 'schedules', summary: 'list, test, fire and turn on or off schedules', group: shape, load: () => import('./schedules.ts')},
  {name: 'config', summary: 'sync the configuration of the org with files', group: shape, load: () => import('./config.ts')},
  {name: 'test', summary: 'test the configuration with a stand-in of the CRM', group: shape, load: () => import('./test.ts')},
  {name: 'libraries', summary: 'list and publish helper libraries', group: shape, load: () => import('./libraries.ts')},
  {name: 'tokens', summary: 'list, create and revoke API tokens', group: more, load: () => import('./tokens.ts')},
  {name: 'audit', summary: 'download the audit log of the org', group: more, load: () => import('./audit.ts')},
  {name: 'jobs', summary: 'show a job or wait for it', group: more, load: () => import('./jobs.ts')},
  {name: 'usage', summary: 'show the usage of the plan', group: more, load: () => import('./usage.ts')},
  {name: 'billing', summary: 'set up and check the sale of plans (operators)', group: more, load: () => import('./billing.ts')},
  {name: 'completion', summary: 'print a completion script for a shell', group: more, load: () => import('./completion.ts')},
  {name: 'help', summary: 'explain a command or a topic', group: more, load: () => import('./help.ts')},
]
