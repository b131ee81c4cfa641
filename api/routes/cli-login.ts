import {z} from 'zod'
import {File} from '../answers/common.ts'
import {cliPage} from '../cli-page.ts'
import {route} from '../route.ts'

/** A port that a program without special rights can open. */
const Port = z
  .string()
  .regex(/^[1-9]\d{3,4}$/, 'The port is not between 1024 and 65535')
  .transform(Number)
  .pipe(z.number().min(1024).max(65_535))

export default [
  route({
    method: 'get',
    path: '/cli',
    operationId: 'letCommandLineIn',
    tag: 'Sign-in',
    access: {public: true},
    summary: 'Show the page that signs in the command line',
    description:
      'For browsers; `lading login` opens it. After sign-in, the person approves the command line. The page then posts the session and `state` to `127.0.0.1` at `port`.',
    answers: {200: File('text/html', 'The page')},
    refusals: [],
    example: {query: {port: '49152', state: '0123456789abcdef0123456789abcdef'}},
    query: z.object({
      port: Port.describe('The port the command line listens on, on the same machine as the browser'),
      state: z
        .string()
        .regex(/^[0-9a-f]{32,128}$/, '`state` is not 32 to 128 hexadecimal digits')
        .describe('A random value by which the command line recognises its own sign-in. The page shows the first eight digits'),
      dc: z.string().max(20).optional().describe('The preselected data centre, such as `eu`'),
    }),
    handle: ({config, query}) => cliPage(config, query),
  }),
]
