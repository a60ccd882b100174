// SPDX-License-Identifier: MIT

package llamad

import "context"

// Generate generates text from a prompt or a conversation.  If ctx is cancelled, so is the generation,
// also after Generate has returned.
func (c *Client) Generate(ctx context.Context, req *GenerateRequest) (*Stream, error) {
	return c.start(ctx, req)
}

// Answer generates text and waits for the end.  With Parse in the request, the answer is split into
// text, reasoning and tool calls.
func (c *Client) Answer(ctx context.Context, req *GenerateRequest) (Answer, error) {
	s, err := c.Generate(ctx, req)
	if err != nil {
		return Answer{}, err
	}
	defer s.Close()
	return s.Answer(ctx)
}

// Resume resumes a stream after its item number after.
func (c *Client) Resume(id ID, after int64) *Stream {
	s := newStream(c, id)
	s.after = after
	return s
}

// Tokenize converts text to tokens.
func (c *Client) Tokenize(ctx context.Context, req *TokenizeRequest) ([]int32, error) {
	var r TokenizeReply
	err := c.Call(ctx, req, &r)
	return r.Tokens, err
}

// ApplyTemplate turns a conversation into the prompt that Generate would give the model.
func (c *Client) ApplyTemplate(ctx context.Context, req *ApplyTemplateRequest) (*ApplyTemplateReply, error) {
	var r ApplyTemplateReply
	if err := c.Call(ctx, req, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// Detokenize converts tokens to text.
func (c *Client) Detokenize(ctx context.Context, req *DetokenizeRequest) (string, error) {
	var r DetokenizeReply
	err := c.Call(ctx, req, &r)
	return string(r.Text), err
}

// Embed computes the embedding of each input.
func (c *Client) Embed(ctx context.Context, req *EmbedRequest) ([][]float64, error) {
	var r EmbedReply
	if err := c.Call(ctx, req, &r); err != nil {
		return nil, err
	}
	all := make([][]float64, len(r.Embeddings))
	for i := range r.Embeddings {
		all[i] = r.Embeddings[i].Vector
	}
	return all, nil
}

// Rerank returns the score of each document for a query, by a reranker.
func (c *Client) Rerank(ctx context.Context, req *RerankRequest) ([]float64, error) {
	var r RerankReply
	err := c.Call(ctx, req, &r)
	return r.Scores, err
}

// Models lists the models in the registry.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var all []Model
	for after := ""; ; {
		var r ModelsReply
		if err := c.Call(ctx, &ModelsRequest{After: String(after)}, &r); err != nil {
			return nil, err
		}
		all = append(all, r.Models...)
		if !r.More || len(r.Models) == 0 {
			return all, nil
		}
		after = r.Models[len(r.Models)-1].Name
	}
}

// Info returns the metadata of a model file, with all metadata keys of the file if keys is true.
func (c *Client) Info(ctx context.Context, model string, keys bool) (r InfoReply, err error) {
	err = c.Call(ctx, &InfoRequest{Model: model, Keys: &keys}, &r)
	return r, err
}

// Ps lists the models in memory.
func (c *Client) Ps(ctx context.Context) ([]Resident, error) {
	var r PsReply
	err := c.Call(ctx, &PsRequest{}, &r)
	return r.Models, err
}

// Devices lists the devices that models can run on.
func (c *Client) Devices(ctx context.Context) ([]Device, error) {
	var r DevicesReply
	err := c.Call(ctx, &DevicesRequest{}, &r)
	return r.Devices, err
}

// Add adds a model file on the server to the registry.  The stream ends when the model is registered.
func (c *Client) Add(ctx context.Context, req *AddRequest) (*Stream, error) {
	return c.start(ctx, req)
}

// Rm removes a model or an alias from the registry.
func (c *Client) Rm(ctx context.Context, name string) (r RmReply, err error) {
	err = c.Call(ctx, &RmRequest{Name: name}, &r)
	return r, err
}

// Load loads a model into memory.  The stream ends when the model is ready.
func (c *Client) Load(ctx context.Context, req *LoadRequest) (*Stream, error) {
	return c.start(ctx, req)
}

// Unload removes a model from memory.  The stream ends when the model is gone.
func (c *Client) Unload(ctx context.Context, req *UnloadRequest) (*Stream, error) {
	return c.start(ctx, req)
}

// Reload loads a model again with the current plugins.  The stream ends when the model is ready.
func (c *Client) Reload(ctx context.Context, model string) (*Stream, error) {
	return c.start(ctx, &ReloadRequest{Model: model})
}

// Ping checks that the server is alive and returns its state.
func (c *Client) Ping(ctx context.Context) (r PingReply, err error) {
	err = c.Call(ctx, &PingRequest{}, &r)
	return r, err
}

// Status returns a summary of the server's state.
func (c *Client) Status(ctx context.Context) (r StatusReply, err error) {
	err = c.Call(ctx, &StatusRequest{}, &r)
	return r, err
}

// Stats returns the metrics of the server, or only those of a model if it is not "".
func (c *Client) Stats(ctx context.Context, model string) ([]Metric, error) {
	req := &StatsRequest{}
	if model != "" {
		req.Model = String(model)
	}
	var r StatsReply
	err := c.Call(ctx, req, &r)
	return r.Metrics, err
}

// Plugins lists the plugins that were found, with their factories if factories is true.
func (c *Client) Plugins(ctx context.Context, factories bool) ([]Plugin, error) {
	var r PluginsReply
	err := c.Call(ctx, &PluginsRequest{Factories: &factories}, &r)
	return r.Plugins, err
}
