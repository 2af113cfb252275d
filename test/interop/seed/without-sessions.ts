import { McpServer } from 'tenon/server';
import { StreamableHTTPServerTransport } from 'tenon/server';
import express from 'express';
import * as z from 'zod/v4';

const app = express();
app.use(express.json());

// Create the MCP server once
const server = new McpServer({
    name: 'example-server',
    version: '1.0.0'
});

// Set up tools, resources, prompts

app.post('/mcp', async (req, res) => {
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: undefined,
        enableJsonResponse: true
    });

    res.on('close', () => {
        transport.close();
    });

    await server.connect(transport);
    await transport.handleRequest(req, res, req.body);
});

app.listen(3000);
