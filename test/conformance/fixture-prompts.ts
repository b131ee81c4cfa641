import type {McpServer} from '@modelcontextprotocol/server'
import * as sdk from '@modelcontextprotocol/server'
import {z} from 'zod'
import {png} from './fixture.ts'

const user = (...content: object[]) => ({messages: content.map(one => ({role: 'user' as const, content: one}))}) as sdk.GetPromptResult
const text = (said: string) => ({type: 'text', text: said})

/** Adds the prompts that the suite names. */
export const addPrompts = (server: McpServer): void => {
  server.registerPrompt('test_simple_prompt', {description: 'Says one thing'}, () => user(text('This is a simple prompt for testing.')))
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'Says what it is given',
      argsSchema: z.object({arg1: sdk.completable(z.string(), begun => suggest(begun)), arg2: z.string()}),
    },
    ({arg1, arg2}) => user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    {description: 'Holds a resource', argsSchema: z.object({resourceUri: z.string()})},
    ({resourceUri: uri}) =>
      user(
        {type: 'resource', resource: {uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.'}},
        text('Please process the embedded resource above.'),
      ),
  )
  server.registerPrompt('test_prompt_with_image', {description: 'Holds an image'}, () =>
    user({type: 'image', data: png, mimeType: 'image/png'}, text('Please analyze the image above.')),
  )
  server.registerPrompt('test_input_required_result_prompt', {description: 'Asks first'}, ({mcpReq}) => {
    const given = sdk.acceptedContent(mcpReq.inputResponses, 'user_context', z.object({context: z.string()}))
    if (given) return user(text(`In the context of ${given.context}`))
    const requestedSchema = z.object({context: z.string()})
    return sdk.inputRequired({
      inputRequests: {user_context: sdk.inputRequired.elicit({message: 'What context should the prompt use?', requestedSchema})},
    })
  })
}

const suggest = (begun: string | undefined) => ['paris', 'park', 'party'].filter(word => word.startsWith(begun ?? ''))
