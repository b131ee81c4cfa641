import {homedir} from 'node:os'
import {join} from 'node:path'

/** Environment variables and directories. Only this file of the clients reads the environment. */
export type Settings = {
  /** `LADING_URL`: the server. Takes precedence over the stored one. */
  server: string | null
  /** `LADING_TOKEN`: an API token. Takes precedence over a stored session. */
  token: string | null
  /** Directory of the stored sessions. */
  configDirectory: string
  /** Directory of the state of interrupted commands. */
  stateDirectory: string
  /** `BROWSER`: the program that opens URLs. */
  browser: string | null
  /** `COLUMNS`: the width, if the terminal does not report it. */
  columns: number | null
  /** `TERM=dumb`: a terminal that cannot redraw lines. */
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
