import {z} from 'zod'
import type {Pool} from '../../../sql/database.ts'
import {Refusal} from '../../errors.ts'
import type {Parsing} from '../../files/parser/pool.ts'
import {mapLocally} from '../local-mapping.ts'
import {readTargets} from '../targets.ts'
import {chatTool, takeFitting} from './tool.ts'

/** Runs the matcher on the unmasked file. Only the mapping and its confidence are sent. */
export const proposeMapping = ({db, parsing}: {db: Pool; parsing: Parsing}) =>
  chatTool({
    name: 'propose_mapping',
    description:
      'Proposes a field for every column of the file, by names, values and earlier imports. A confidence of 0.8 or more is high. Check a proposal with a lower one.',
    input: z.object({modules: z.array(z.string().max(200)).max(5).describe('The modules to write to. Empty: the modules of the import')}),
    async run({org, connectorId, modules, judged, out, targets}, asked) {
      const named = asked.modules.length > 0 ? asked.modules : modules
      if (judged.length === 0) throw new Refusal('INVALID', 'The question names no file. Ask the user for the columns')
      if (named.length === 0) throw new Refusal('INVALID', 'Name at least one module. get_schema lists the modules')
      const known = await readTargets(db, {org, connectorId, modules: named.slice(0, 5)})
      const columns = judged.map(({name, samples}) => ({name, samples: [...samples]}))
      const proposals = await mapLocally({db, parsing}, org, columns, known)
      const {some, more} = takeFitting(
        proposals.map(({module, field, confidence}, at) => ({
          column: out.columns[at]!.name,
          module,
          field,
          confidence: rounded(confidence),
        })),
      )
      targets.push(
        ...some.flatMap(({module, field, confidence}, at) =>
          field !== null && confidence >= sure ? [{kind: 'mapping' as const, column: judged[at]!.name, module, field, confidence}] : [],
        ),
      )
      return {proposals: some, more}
    },
  })

/** The lowest confidence of a proposal that a user can apply. */
const sure = 0.5

const rounded = (value: number) => Math.round(value * 100) / 100
