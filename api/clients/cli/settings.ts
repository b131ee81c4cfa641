import {homedir} from 'node:os'
import {join} from 'node:path'

/** What the shell says, and where files go. Read here and nowhere else in the clients: a command line has no other configuration. */
export type Settings = {
  /** `LADING_URL`: the server, before the one signed in to. */
  server: string | null
  /** `LADING_TOKEN`: an API token, before what a sign-in left. */
  token: string | null
  /** Sessions and which server is meant. */
  configDirectory: string
  /** What a command that broke off has to remember. */
  stateDirectory: string
  /** `BROWSER`: the program that opens addresses. */
  browser: string | null
  /** `COLUMNS`, where the terminal does not tell its width. */
  columns: number | null
  /** `TERM=dumb`: a terminal on which nothing can be drawn again. */
  isDumb: boolean
}

type Environment = Record<string, string | undefined>

export const readSettings = (env: Environment = process.env): Settings => {
  const given = (name: string) => env[name]?.trim() || null
  const columns = Number(given('COLUMNS'))
  return {
    server: given('LADING_URL'),
    token: given('LADING_TOKEN'),
    configDirectory: join(given('XDG_CONFIG_HOME') ?? join(homedir(), '.config'), 'lading'),
    stateDirectory: join(given('XDG_STATE_HOME') ?? join(homedir(), '.local', 'state'), 'lading'),
    browser: given('BROWSER'),
    columns: Number.isInteger(columns) && columns > 0 ? columns : null,
    isDumb: given('TERM') === 'dumb',
  }
}
