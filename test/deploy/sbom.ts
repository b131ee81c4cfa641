import {execFileSync} from 'node:child_process'
import {readText, root} from './files.ts'
import {listLicences} from './licences.ts'

type Component = {'bom-ref': string; name: string; version: string}
type Sbom = {components: Component[]; dependencies: {ref: string; dependsOn: string[]}[]}

/**
 * The arguments of npm's command, whose result `npm run sbom` prints as CycloneDX with only the packages of the service. npm's `--omit dev`
 * would also leave out packages that both the service and development use. So this script removes only what the service does not use.
 */
const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
const sbom = JSON.parse(execFileSync('npm', args, {cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2})) as Sbom
const used = new Set(listLicences(JSON.parse(readText('package-lock.json'))).map(({name, version}) => `${name}@${version}`))
const removed = new Set(sbom.components.filter(({name, version}) => !used.has(`${name}@${version}`)).map(component => component['bom-ref']))
const components = sbom.components.filter(component => !removed.has(component['bom-ref']))
const dependencies = sbom.dependencies
  .filter(({ref}) => !removed.has(ref))
  .map(({ref, dependsOn}) => ({ref, dependsOn: dependsOn.filter(one => !removed.has(one))}))
process.stdout.write(`${JSON.stringify({...sbom, components, dependencies}, null, 2)}\n`)
