import {readText} from './files.ts'

export type LicenceRow = {name: string; version: string; licence: string}

type Lock = {packages: Record<string, {version?: string; license?: string; dev?: true; name?: string}>}

/** Licences of packages for which the lock file records none. `test/security/s18-packages.test.ts` knows the same packages. */
const byFile: Record<string, string> = {buildcheck: 'MIT', 'cpu-features': 'MIT', ssh2: 'MIT'}

/** Lists the packages that an installation gets, sorted and each once: optional packages too, but none that only development uses. */
export const listLicences = ({packages}: Lock): LicenceRow[] => {
  const rows = Object.entries(packages).flatMap(([path, {version = '', license, dev}]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return dev || path === '' ? [] : [{name, version, licence: license ?? byFile[name] ?? ''}]
  })
  const byText = new Map(rows.map(row => [`${row.name}@${row.version}`, row]))
  return [...byText.keys()].toSorted().map(key => byText.get(key)!)
}

/** `npm run licences` prints the packages of the service with their licences, as a Markdown table. */
if (import.meta.main) {
  const rows = listLicences(JSON.parse(readText('package-lock.json')))
  const lines = rows.map(({name, version, licence}) => `| ${name} | ${version} | ${licence} |`)
  process.stdout.write(`| Package | Version | Licence |\n|---|---|---|\n${lines.join('\n')}\n`)
}
